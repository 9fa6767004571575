/* A format of printa is a string constant. */
BEGIN { @a = count(); s = "x"; printa(s, @a); }
