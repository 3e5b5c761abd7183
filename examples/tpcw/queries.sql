-- Every query of the fourteen web interactions, each behind a line with its name.
--
-- What is looked up behind a LIMIT is a LEFT JOIN: an inner one could drop rows, and the scan would have to go on for others.

-- name: customer_name
-- Home.
SELECT c_fname, c_lname, c_uname FROM customer WHERE c_id = :customer;

-- name: related
-- Home, search request, shopping cart: the items that are shown beside one.
SELECT i_related1, i_related2, i_related3, i_related4, i_related5 FROM item WHERE i_id = :item;

-- name: thumbnails
SELECT i_id, i_thumbnail FROM item WHERE i_id IN :items MAX 5;

-- name: new_products
SELECT i_id, i_title, i_pub_date, a_fname, a_lname
FROM item LEFT JOIN author ON a_id = i_a_id
WHERE i_subject = :subject
ORDER BY i_pub_date DESC, i_title, i_id LIMIT 50;

-- name: best_sellers
-- Within an hour, which is what runs: the most sold of a subject.
SELECT ol_i_id, SUM(ol_qty) AS sold
FROM order_line
WHERE ol_i_subject = :subject AND ol_o_date - (ol_o_date % 3600000) = :hour
GROUP BY ol_i_id
ORDER BY sold DESC, ol_i_id LIMIT 50;

-- name: best_sellers_last_orders
-- As the standard has it: within the last 3,333 orders.
SELECT ol_i_id, SUM(ol_qty) AS sold
FROM (SELECT o_id FROM orders ORDER BY o_date DESC LIMIT 3333) AS recent
JOIN order_line ON ol_o_id = o_id
WHERE ol_i_subject = :subject
GROUP BY ol_i_id
ORDER BY sold DESC, ol_i_id LIMIT 50;

-- name: titles
-- Best sellers: what is shown of them.
SELECT i_id, i_title, i_cost, a_fname, a_lname
FROM item LEFT JOIN author ON a_id = i_a_id
WHERE i_id IN :items MAX 50;

-- name: product_detail
-- Product detail and admin request.
SELECT i_id, i_title, i_pub_date, i_publisher, i_subject, i_desc, i_image, i_thumbnail, i_srp, i_cost, i_avail, i_stock, i_isbn,
       i_page, i_backing, i_dimensions, a_fname, a_lname
FROM item LEFT JOIN author ON a_id = i_a_id
WHERE i_id = :item;

-- name: search_by_author
-- By a word of the last name, of which an item has a copy.
SELECT i_id, i_title, a_fname, a_lname
FROM item LEFT JOIN author ON a_id = i_a_id
WHERE TOKENS(i_a_lname) = :word
ORDER BY i_title, i_id LIMIT 50;

-- name: search_by_title
SELECT i_id, i_title, a_fname, a_lname
FROM item LEFT JOIN author ON a_id = i_a_id
WHERE TOKENS(i_title) = :word
ORDER BY i_title, i_id LIMIT 50;

-- name: search_by_subject
SELECT i_id, i_title, a_fname, a_lname
FROM item LEFT JOIN author ON a_id = i_a_id
WHERE i_subject = :subject
ORDER BY i_title, i_id LIMIT 50;

-- name: cart
-- Shopping cart, buy request.
SELECT scl_i_id, scl_qty, scl_cost, i_title, i_srp, i_backing
FROM shopping_cart_line LEFT JOIN item ON i_id = scl_i_id
WHERE scl_sc_id = :cart;

-- name: cart_total
SELECT COUNT(*) AS items, SUM(scl_qty) AS pieces, SUM(scl_qty * scl_cost) AS total
FROM shopping_cart_line
WHERE scl_sc_id = :cart;

-- name: customer_by_name
-- Customer registration, buy request, order display.
SELECT c_id, c_passwd, c_fname, c_lname, c_phone, c_email, c_discount, addr_id, addr_street1, addr_street2, addr_city, addr_state,
       addr_zip, co_name
FROM customer LEFT JOIN address ON addr_id = c_addr_id LEFT JOIN country ON co_id = addr_co_id
WHERE c_uname = :uname
LIMIT 1;

-- name: country_by_name
-- Buy request, of a new customer.
SELECT co_id FROM country WHERE co_name = :name LIMIT 1;

-- name: same_address
-- Buy request: an address that is there already is used again.
SELECT addr_id
FROM address
WHERE addr_street1 = :street1 AND addr_street2 = :street2 AND addr_city = :city AND addr_state = :state AND addr_zip = :zip
  AND addr_co_id = :country
LIMIT 1;

-- name: last_order
-- Order display.
SELECT o_id, o_date, o_sub_total, o_tax, o_total, o_ship_type, o_ship_date, o_status, cx_type, b.addr_street1 AS bill_street,
       b.addr_city AS bill_city, s.addr_street1 AS ship_street, s.addr_city AS ship_city
FROM orders
LEFT JOIN cc_xacts ON cx_o_id = o_id
LEFT JOIN address b ON b.addr_id = o_bill_addr_id
LEFT JOIN address s ON s.addr_id = o_ship_addr_id
WHERE o_c_id = :customer
ORDER BY o_date DESC, o_id DESC LIMIT 1;

-- name: order_lines
SELECT ol_id, ol_i_id, ol_qty, ol_cost, ol_discount, ol_comments, i_title, i_publisher
FROM order_line LEFT JOIN item ON i_id = ol_i_id
WHERE ol_o_id = :order;

-- name: order_total
SELECT COUNT(*) AS items, SUM(ol_qty * ol_cost) AS total FROM order_line WHERE ol_o_id = :order;

-- name: bought_together
-- Admin confirm, within an hour, which is what runs: the five items most often bought with one.
SELECT other.ol_i_id, COUNT(*) AS together
FROM order_line this JOIN order_line other ON other.ol_o_id = this.ol_o_id
WHERE this.ol_i_id = :item AND this.ol_o_date - (this.ol_o_date % 3600000) = :hour AND other.ol_i_id <> this.ol_i_id
GROUP BY other.ol_i_id
ORDER BY together DESC, other.ol_i_id LIMIT 5;

-- name: bought_together_last_orders
-- As the standard has it: within the last 10,000 orders.
SELECT other.ol_i_id, COUNT(*) AS together
FROM (SELECT o_id FROM orders ORDER BY o_date DESC LIMIT 10000) AS recent
JOIN order_line this ON this.ol_o_id = o_id
JOIN order_line other ON other.ol_o_id = o_id
WHERE this.ol_i_id = :item AND other.ol_i_id <> this.ol_i_id
GROUP BY other.ol_i_id
ORDER BY together DESC, other.ol_i_id LIMIT 5;
