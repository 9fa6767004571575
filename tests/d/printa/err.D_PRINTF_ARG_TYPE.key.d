/* A conversion of printa fits its key. */
BEGIN { @a["x"] = count(); printa("%d %@d\n", @a); }
