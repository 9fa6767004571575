/* The divisor of normalize must be a number. */
BEGIN { @a = count(); normalize(@a, "x"); }
