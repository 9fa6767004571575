/* There is no long long long. */
long long long int i;
BEGIN { exit(0); }
