/* A type that is being defined cannot have a scope. */
enum foo`bar { ONE };
