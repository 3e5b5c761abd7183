"""The bookstore of TPC-W: its tables and queries, data, the fourteen web interactions, the mixes that drive them.

Run it from the folder of the repository with `python -m examples.tpcw --items 1000 --customers 1000 --seconds 10`.
"""
