/* normalize divides by a number. */
BEGIN { @a = count(); normalize(@a, "x"); }
