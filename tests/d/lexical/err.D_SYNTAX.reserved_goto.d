/* There is no goto. */
BEGIN { goto done; }
