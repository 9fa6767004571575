/* trunc takes a number of keys. */
BEGIN { @a = count(); trunc(@a, "x"); }
