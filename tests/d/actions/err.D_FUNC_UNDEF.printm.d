/* printm exists only on other systems. */
BEGIN { printm(1); }
