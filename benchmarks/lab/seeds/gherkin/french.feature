# language: fr
Fonctionnalité: Jeu
  Contexte:
    Étant donné un jeu
  Plan du scénario: p
    Quand je <x>
    Exemples:
      | x |
      | y |
