/* What is declared has no scope. */
enum foo`bar { ONE };
