/* else needs its if. */
BEGIN { else { exit(0); } }
