/* A format does not end in a percent sign. */
BEGIN { printf("100%"); }
