/* The format of printa must be a string constant. */
BEGIN { @a = count(); s = "x"; printa(s, @a); }
