/* The format of printf is a string. */
BEGIN { printf(1); }
