/* printm belongs to another system. */
BEGIN { printm(1); }
