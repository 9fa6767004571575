/* A character constant has at most eight characters. */
BEGIN { x = 'abcdefghi'; }
