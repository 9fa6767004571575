/* A conversion of printa must fit the type of its key. */
BEGIN { @a["x"] = count(); printa("%d %@d\n", @a); }
