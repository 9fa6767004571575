/* A conversion cannot have two precisions. */
BEGIN { printf("%.2.3d\n", 1); }
