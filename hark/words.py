"""The 1024 words that key names are made of: each stands for ten bits, by its place in the list.

The list never changes: a changed word would rename every key. Words are lower-case ASCII, three to nine
letters, sorted and distinct.
"""

from typing import Final

WORDS: Final = tuple(
    """
able acid acorn actor adapt admit adobe adult agent agile alarm album alder alert alley alloy almond
alpha amber ample anchor angle ankle apple apron arbor arch arena armor army arrow aspen atlas atom
attic audio august aunt autumn avenue avocado awake axis azure bacon badge bagel bakery balcony ball
bamboo banana banjo barley barn basil basin basket beach beacon beak bean bear beaver bed beech beetle
bell belt bench berry bicycle birch bird biscuit bison blade blanket blaze blossom blue boat bolt
bonfire book boot bottle boulder bowl branch brass bread breeze brick bridge bronze brook broom brush
bucket buffalo bulb bundle burrow bus button cabin cable cactus cake calm camel camp canal candle canoe
canvas canyon cape captain caravan cargo carpet carrot cart castle cat cave cedar cello cement ceramic
chain chalk chapel charm cheese cherry chess chief chimney chin choir cider cinema circle circus citrus
city clam clarinet clay cliff clock cloud clover coach coast cobalt cocoa coconut coffee coin colony
column comet compass copper coral cork corn cosmos cotton couch cousin coyote crab cradle crane crater
crayon creek crew cricket crimson crow crown crystal cube cup curtain cushion cycle cymbal dairy daisy
damson dance dawn deck deer delta denim desert desk dew dial diamond diary dime dinner disco ditch diver
dock doctor dog dolphin dome domino donkey door dough dove dozen dragon drama drawer dream dress drift
drum duck dune dusk dust eagle ear early earth easel east echo eclipse edge eel egg elbow elder elf elk
ember emerald emu engine envoy epic equator era ermine essay evening exit fable fabric falcon family fan
farm feather fence fennel fern ferry festival fiber fiddle field fig film finch finger fir fire fish
fjord flag flame flask flax fleet flint float flood flower flute fog folder forest forge fork fossil
fountain fox frame freckle freight frost fruit fudge funnel fur gable galaxy gallery game garage garden
garlic gate gazelle gem gentle geyser giant ginger giraffe glacier glass globe glove glue goat gold golf
gong goose gorge gospel gown grain grape grass gravel green grid grove guest guide guitar gulf gull gym
gypsum habit hall hammer hamster hand harbor hare harp harvest hat haven hawk hazel heart heather hedge
helmet hen herb heron hickory hill hinge hippo hive hobby holly home honey hood hook hope horizon horn
horse host hotel hour house hub humble hut hyena ice icicle icon idea igloo inch indigo ink inlet insect
iris iron island item ivory ivy jacket jade jaguar jam jar jasmine jaw jay jazz jeans jelly jet jewel
jigsaw job joker journal judge juice july jumbo jungle juniper jury kale karma kayak keel kernel kettle
key kid kiln kind king kiosk kite kitten kiwi knee knot koala label lace ladder lagoon lake lamb lamp
lance land lantern lapel larch lark lasso latch laundry lava lavender lawn lawyer leaf leather lecture
ledge legend lemon lens lentil leopard letter lettuce lever library lichen lid light lilac lily lime
linen lion liquid lizard llama lobster lodge logic lotus lounge lucky lumber lunar lunch lute lynx lyric
magnet magpie mango manor mantle maple marble march marina market marsh mason mast match meadow medal
melody melon mentor mercury merit mesa metal meteor metro midday mill mimosa mineral mint mirror mist
mitten moat model mole moment monk moon moose morning mosaic moss moth motor mountain mouse muffin
mulberry mural muscle museum music mustard myrtle myth napkin narrow nature navy neck nectar needle neon
nephew nest nettle nickel night noble noon north nose notch novel nugget number nurse nut nutmeg nylon
oak oar oasis oat oboe ocean ochre octave octopus office oil olive omega onion onyx opal opera orange
orbit orchard orchid order organ osprey ostrich otter oval oven owl oxygen oyster ozone pacific paddle
page palace palm pancake panda panel panther papaya paper parade parcel park parrot parsley pasta pastel
patch path patio peach peacock peak peanut pear pebble pecan pedal pelican pen penguin pepper perch
petal piano picnic pigeon pillow pilot pine pink pioneer pipe pirate pistachio pixel pizza planet plaza
plum pocket poem polar pollen pond pony poplar poppy porch portal potato pottery prairie prism puffin
pulse pumpkin pupil puppet purple puzzle pyramid python quail quarry quartz queen quest quiet quill
quilt quince quiver quiz rabbit raccoon radar radio radish raft rail rain raisin ramp ranch range raven
recipe reef relay relic resin rhino rhythm ribbon rice riddle ridge ring river road robin robot rocket
rodeo roof room root rope rose rotor round royal ruby rudder rug rumba runway rustic saddle safari
saffron sage sail salad salmon salt salute sand sandal sapphire sardine satin saturn sauce saxophone
scallop scarf school science scooter scout sculpture seal season seed senator sequoia shadow shark sheep
shelf shield ship shirt shore shovel shrimp shuttle sierra signal silk silver singer siren sister skate
sketch sky slate sled sleeve slipper slope smile smoke snail snow soap soccer sofa solar sonata song
sorrel soup south space spark sparrow spice spider spinach spiral sponge spoon spring spruce square
squid squirrel stable stadium stage stamp star station statue steam steel stem stone stork storm story
stove straw stream string studio sugar suit summit sun sunset surf swallow swan sweater swift symbol
syrup system table tablet taco tailor talent tango tapestry target tartan taxi tea teapot temple tennis
tent terrace theater thicket thimble thistle thread throne thumb thunder ticket tide tiger timber tinsel
toast tomato tonic topaz torch tortoise toucan tower town tractor trail train treasure tree trellis
triangle trout truck truffle trumpet trunk tulip tuna tundra tunnel turbine turkey turnip turtle tweed
twig twin type umbrella uncle unicorn union unit urban urchin usher valley vanilla vapor vase vault
velvet vendor venus verb verse vessel vest viaduct video view villa vine vinegar violet violin viper
visitor vital vivid voice volcano volley vortex vowel voyage vulture waffle wagon waiter walnut walrus
waltz wand warm wasp watch water wave wax weasel weaver wedge west whale wheat wheel whistle white widow
willow wind window wing winter wizard wolf wombat wood wool word wren wrist writer yacht yak yard yarn
year yeast yellow yoga yogurt young zebra zenith zephyr zero zigzag zinc zone zoo
""".split()  # noqa: SIM905 (a thousand quoted strings are no easier to read)
)
