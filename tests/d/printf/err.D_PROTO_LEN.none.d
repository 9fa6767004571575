/* printf takes a format. */
BEGIN { printf(); }
