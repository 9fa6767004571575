/* clear needs an aggregation. */
BEGIN { clear(); }
