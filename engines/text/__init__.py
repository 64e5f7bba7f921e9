"""text: fuzzing of whatever reads text, by mutation operators, fragments and havoc."""
