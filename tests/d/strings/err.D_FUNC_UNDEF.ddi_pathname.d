/* ddi_pathname exists only on other systems. */
BEGIN { x = ddi_pathname(0, 1); }
