/* A type cannot contain long three times. */
long long long int i;
BEGIN { exit(0); }
