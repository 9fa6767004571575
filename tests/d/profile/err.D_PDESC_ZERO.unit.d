/* A tick with an unknown unit is refused. */
tick-5parsec { exit(0); }
