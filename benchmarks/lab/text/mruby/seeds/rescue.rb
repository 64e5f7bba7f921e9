def attempt(*args, &block)
  yield(1, *args, key: 2)
rescue TypeError, IOError => e
  retry if (@tries += 1) < 3
else
  $done = true
ensure
  close()
end
