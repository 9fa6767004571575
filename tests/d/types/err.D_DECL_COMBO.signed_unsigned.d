/* A type cannot be both signed and unsigned. */
signed unsigned int i;
BEGIN { exit(0); }
