/* ddi_pathname belongs to another system. */
BEGIN { x = ddi_pathname(0, 1); }
