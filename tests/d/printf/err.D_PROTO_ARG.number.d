/* The format of printf must be a string. */
BEGIN { printf(1); }
