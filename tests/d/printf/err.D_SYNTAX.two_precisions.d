/* A conversion has one precision. */
BEGIN { printf("%.2.3d\n", 1); }
