#pragma D depends_on provider nosuch
this is not looked at
