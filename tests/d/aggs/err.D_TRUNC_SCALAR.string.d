/* The second argument of trunc must be a number. */
BEGIN { @a = count(); trunc(@a, "x"); }
