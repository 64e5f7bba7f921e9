-- Accounts with inheritance by metatables.
local Account = {}
Account.__index = Account
function Account.new(owner, balance)
  return setmetatable({ owner = owner, balance = balance or 0 }, Account)
end
function Account:deposit(amount)
  assert(type(amount) == "number" and amount > 0, "bad amount")
  self.balance = self.balance + amount
  return self
end
Account.__tostring = function(a) return ("%s: %d"):format(a.owner, a.balance) end
Account.__add = function(a, b) return Account.new(a.owner .. "&" .. b.owner, a.balance + b.balance) end
local Saving = setmetatable({ rate = 0.05 }, { __index = Account })
Saving.__index = Saving
function Saving:year() self:deposit(self.balance * self.rate) end
print(tostring(Account.new "ann":deposit(10) + Account.new("bob", 5)))
