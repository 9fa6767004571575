/* A clause-local variable cannot be an associative array. */
BEGIN { this->a[1] = 2; }
