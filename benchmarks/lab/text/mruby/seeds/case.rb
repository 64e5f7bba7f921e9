def kind(x)
  case x
  when Integer, 1..9 then :number
  when /a+b?/i, "s" then 'text'
  else nil
  end
end
