/* count takes no arguments. */
BEGIN { @a = count(1); }
