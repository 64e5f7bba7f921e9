int isalpha(int), isdigit(int), isalnum(int), isspace(int), isupper(int), islower(int);
int toupper(int), tolower(int);
