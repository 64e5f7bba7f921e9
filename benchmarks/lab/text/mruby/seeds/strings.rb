name = %w[a b].join("\t")
text = <<~END
  hello #{name ? name.upcase : "nobody"}
END
h = { "k" => 1, sym: :"a b", 0x1f => -2.5e3 }
h&.fetch(:sym) { |k| "\u00e9" 'x' }
