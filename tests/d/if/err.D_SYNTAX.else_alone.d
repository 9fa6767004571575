/* else needs an if before it. */
BEGIN { else { exit(0); } }
