/* The size that is passed to alloca must be positive. */
BEGIN { x = (char *)alloca(-1); }
