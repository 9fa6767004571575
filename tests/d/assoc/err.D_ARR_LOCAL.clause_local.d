/* A clause-local variable has no keys. */
BEGIN { this->a[1] = 2; }
