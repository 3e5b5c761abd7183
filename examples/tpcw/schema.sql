-- The bookstore of TPC-W.
--
-- A limit of the application is declared as CARDINALITY, and is then refused on write and known to the analysis: 100 items in
-- a cart, 100 lines of an order, 20 words of a title, 5 of a name.
--
-- Copies. What order_line has of its order (ol_o_date) and of its item (ol_i_subject, ol_cost) is copied when the order is made:
-- it is what was sold, and when. A view that joined these instead would have to touch all lines of an item whenever the item
-- changes, and nothing bounds how often an item is sold. An item has the last name of its author (i_a_lname), which no page
-- changes: by its words items are found in the order of their titles. A search by way of the authors would have to read the items of
-- all that have the word, and nothing bounds how many these are.

CREATE TABLE country (
  co_id INT PRIMARY KEY, co_name STRING, co_exchange DECIMAL(12,6), co_currency STRING
);

CREATE TABLE address (
  addr_id BIGINT PRIMARY KEY, addr_street1 STRING, addr_street2 STRING, addr_city STRING, addr_state STRING,
  addr_zip STRING, addr_co_id INT
);

CREATE TABLE customer (
  c_id BIGINT PRIMARY KEY, c_uname STRING, c_passwd STRING, c_fname STRING, c_lname STRING, c_addr_id BIGINT,
  c_phone STRING, c_email STRING, c_since DATE, c_last_login TIMESTAMP, c_login TIMESTAMP, c_expiration TIMESTAMP,
  c_discount DECIMAL(5,2), c_balance DECIMAL(15,2), c_ytd_pmt DECIMAL(15,2), c_birthdate DATE, c_data STRING
);

CREATE TABLE author (
  a_id BIGINT PRIMARY KEY, a_fname STRING, a_mname STRING, a_lname STRING, a_dob DATE, a_bio STRING
) WITH CARDINALITY (TOKENS(a_lname), 5);

CREATE TABLE item (
  i_id BIGINT PRIMARY KEY, i_title STRING, i_a_id BIGINT, i_pub_date DATE, i_publisher STRING, i_subject STRING,
  i_desc STRING, i_related1 BIGINT, i_related2 BIGINT, i_related3 BIGINT, i_related4 BIGINT, i_related5 BIGINT,
  i_thumbnail STRING, i_image STRING, i_srp DECIMAL(15,2), i_cost DECIMAL(15,2), i_avail DATE, i_stock INT,
  i_isbn STRING, i_page INT, i_backing STRING, i_dimensions STRING, i_a_lname STRING
) WITH CARDINALITY (TOKENS(i_title), 20), CARDINALITY (TOKENS(i_a_lname), 5);

CREATE TABLE orders (
  o_id BIGINT PRIMARY KEY, o_c_id BIGINT, o_date TIMESTAMP TEMPORAL, o_sub_total DECIMAL(15,2), o_tax DECIMAL(15,2),
  o_total DECIMAL(15,2), o_ship_type STRING, o_ship_date DATE, o_bill_addr_id BIGINT, o_ship_addr_id BIGINT,
  o_status STRING
);

CREATE TABLE order_line (
  ol_o_id BIGINT, ol_id INT, ol_i_id BIGINT, ol_qty INT, ol_discount DECIMAL(5,2), ol_comments STRING,
  ol_o_date TIMESTAMP TEMPORAL, ol_i_subject STRING, ol_cost DECIMAL(15,2), PRIMARY KEY (ol_o_id, ol_id)
) WITH CARDINALITY (ol_id, 100);

CREATE TABLE cc_xacts (
  cx_o_id BIGINT PRIMARY KEY, cx_type STRING, cx_num STRING, cx_name STRING, cx_expire DATE, cx_auth_id STRING,
  cx_xact_amt DECIMAL(15,2), cx_xact_date TIMESTAMP, cx_co_id INT
);

CREATE TABLE shopping_cart (sc_id BIGINT PRIMARY KEY, sc_time TIMESTAMP);

CREATE TABLE shopping_cart_line (
  scl_sc_id BIGINT, scl_i_id BIGINT, scl_qty INT, scl_cost DECIMAL(15,2), PRIMARY KEY (scl_sc_id, scl_i_id)
) WITH CARDINALITY (scl_i_id, 100);
