/* A conversion has a letter that is known. */
BEGIN { printf("%y\n", 1); }
