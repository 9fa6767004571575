/* The word for an integer's width may occur only once. */
short short int i;
BEGIN { exit(0); }
