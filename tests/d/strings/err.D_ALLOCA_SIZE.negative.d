/* alloca takes a positive size. */
BEGIN { x = (char *)alloca(-1); }
