/* A conversion cannot have two widths. */
BEGIN { printf("%**d\n", 1, 2, 3); }
