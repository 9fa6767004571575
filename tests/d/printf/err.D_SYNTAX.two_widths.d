/* A conversion has one width. */
BEGIN { printf("%**d\n", 1, 2, 3); }
