/* A constant takes no value. */
BEGIN { 5 = 6; }
