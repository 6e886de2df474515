# Two children at once, each with a file of its own for what it says.
for name in left right; do
    "$PYTHON" child.py "$1" $name >out.$name &
done
wait
cat out.left out.right
