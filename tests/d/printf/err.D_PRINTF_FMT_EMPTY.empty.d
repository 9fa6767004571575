/* A format has text. */
BEGIN { printf(""); }
