/* D has no goto. */
BEGIN { goto done; }
