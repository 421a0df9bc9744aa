"""Lists of first names, places, organisations and events, by which a name is given a type.

The lists are hints only. The words around a name in its sentence count first, and a name in no list is still found.

`FEMALE_NAMES`, `MALE_NAMES` and `EITHER_NAMES` also decide whom "she" and "he" can mean, and whether "I'm Anna" gives a
name. `PLACES` are single words; a place of two words is in `TWO_WORD_PLACES`, or is recognised by its last word
("Lake District") or its first ("Mount Rainier"). `NO_NAMES` and `START_WORDS` are the opposite: capitalised words that
begin a sentence, or stand in one, without being a name.

Names are written as in a text, with a capital letter; `START_WORDS` are in lower case. A name that is also a common
word ("Will", "May") does more harm than good in these lists.
"""

from __future__ import annotations

FEMALE_NAMES = frozenset(
    "Abigail Ada Adele Agnes Aisha Alice Alicia Alison Amanda Amber Amelia Amina Amy Ana Anastasia Andrea Angela Angie "
    "Anita Ann Anna Anne Annie Anya Aria Ashley Astrid Audrey Ava Barbara Beatrice Becky Bella Beth Bethany Betty "
    "Bianca Brenda Bridget Brittany Camila Carla Carmen Carol Caroline Carrie Catherine Cathy Celine Charlotte Chloe "
    "Christina Christine Cindy Claire Clara Claudia Cora Courtney Crystal Cynthia Daisy Dana Daniela Debbie Deborah "
    "Denise Diana Diane Donna Doris Dorothy Edith Elaine Eleanor Elena Elise Eliza Elizabeth "
    "Ella Ellen Elsa Emily Emma "
    "Erica Erika Erin Esther Eva Eve Evelyn Fatima Fiona Flora Florence Frances Gabriela "
    "Gail Gemma Georgia Gina Gloria "
    "Grace Greta Hannah Harriet Hazel Heather Heidi Helen Helena Holly Ida Inga Ingrid Irene Iris Isabel Isabella Isla "
    "Ivy Jackie Jacqueline Jane Janet Janice Jasmine Jen Jenna Jennifer Jenny Jessica Jill Joan Joanna Jodie Josephine "
    "Joyce Judith Judy Julia Julie Juliet Karen Kate Katherine Kathleen Kathy Katie Kayla Kelly Kimberly Kirsten "
    "Kristen Kristin Laura Lauren Layla Leah Lena Leslie Lily Linda Lisa Liv Lola Louise Lucia Lucy Luna Lydia Lynn "
    "Mabel Madeline Maggie Mandy Margaret Maria Mariana Marie Marina Marta Martha Mary Matilda Maya Megan Mei Melanie "
    "Melissa Mia Michelle Mila Mildred Miriam Molly Monica Nadia Nancy Naomi Natalia Natalie Natasha Nicole Nina Nora "
    "Olga Olivia Paige Pamela Patricia Paula Penelope Penny Phoebe Polly Priya Rachel Rebecca Renee Rita Roberta Rosa "
    "Rose Rosie Ruby Ruth Sabrina Sally Samantha Sandra Sara Sarah Selma Shannon Sharon Sheila Shirley Sigrid Silvia "
    "Simone Sofia Sonia Sophia Sophie Stacy Stella Stephanie Sue Susan Suzanne Sylvia Tanya Tara Teresa Tessa Theresa "
    "Tiffany Tina Tracy Ursula Valerie Vanessa Vera Veronica Victoria Violet Virginia Vivian Wendy Yasmin Yuki Yvonne "
    "Zara Zoe".split()
)
MALE_NAMES = frozenset(
    "Aaron Abdul Adam Adrian Ahmed Alan Albert Alejandro Alexander Alfred Ali Amir Anders "
    "Andre Andrew Andy Angus Anthony "
    "Anton Antonio Archie Arnold Arthur Ben Benjamin Bernard Bill Billy Bjorn Bob Bobby "
    "Brad Bradley Brandon Brendan Brett Brian "
    "Bruce Bruno Bryan Caleb Calvin Cameron Carl Carlos Cedric Chad Charles Charlie "
    "Chen Chester Christian Christopher Chuck "
    "Clark Claude Clifford Colin Connor Craig Curtis Dale Damian Dan Daniel Danny Darren Dave David Dean Dennis Derek "
    "Diego Dieter Dirk Dmitri Dominic Donald Doug Douglas Duncan Dustin Dwight Dylan "
    "Earl Ed Eddie Edgar Edmund Eduardo Edward "
    "Edwin Eli Elias Elijah Elliot Emil Enrique Eric Erik Ernest Ethan Eugene Evan Felix "
    "Fernando Francis Francisco Frank Fred "
    "Frederick Gabriel Gareth Gary Gavin Geoff George Gerald Gilbert Giovanni Glen Glenn "
    "Gordon Graham Grant Greg Gregory Gus "
    "Gustav Guy Hans Harold Harry Harvey Hassan Hector Henrik Henry Herbert Howard Hugh "
    "Hugo Ian Ibrahim Igor Isaac Ivan "
    "Jack Jackson Jacob Jake James Jamal Jan Jared Jason Javier Jay Jeff Jeffrey Jeremy "
    "Jerome Jerry Jesse Jim Jimmy Joe Joel "
    "Johan John Johnny Jon Jonathan Jordan Jorge Jose Joseph Josh Joshua Juan Julian Justin Karl Keith Ken Kenneth "
    "Kenny Kevin Klaus Kurt Kyle Lance Lars Larry Lawrence Lee Leo Leon Leonard Lewis "
    "Liam Lloyd Logan Louis Lucas Luis Luke "
    "Magnus Malcolm Manuel Marc Marco Marcus Mario Mark Martin Mason Mateo Matt Matthew "
    "Maurice Max Mehmet Michael Miguel "
    "Mike Miles Milo Mohamed Mohammed Morris Nate Nathan Neil Nicholas Nick Nigel Nils "
    "Noah Norman Oliver Olaf Omar Oscar Otto "
    "Owen Pablo Patrick Paul Pedro Per Pete Peter Phil Philip Pierre Quentin Rafael "
    "Raj Ralph Ramon Randy Ravi Ray Raymond Rex "
    "Ricardo Richard Rick Ricky Rob Robert Roberto Robin Rod Rodney Roger Roland Roman "
    "Ron Ronald Ross Roy Russell Ryan "
    "Salvador Samuel Santiago Scott Sean Sebastian Sergei Sergio Seth Shane Shaun Simon Spencer Stan Stanley Stefan "
    "Stephen Steve Steven Stewart Stuart Sven Ted Terry Theo Theodore Thomas Tim Timothy Toby Todd Tom Tommy Tony "
    "Travis Trevor Tyler Victor Vincent Vladimir Walter Warren Wayne Wei Wesley William "
    "Xavier Yusuf Zach Zachary".split()
)
EITHER_NAMES = frozenset(
    "Alex Sam Chris Pat Jamie Taylor Morgan Casey Riley Avery Quinn Kim Robin Charlie Jo Sasha Kai Mel".split()
)
FIRST_NAMES = FEMALE_NAMES | MALE_NAMES | EITHER_NAMES

PLACES = frozenset(
    "Africa America Asia Europe Australia Antarctica Argentina Austria Bangladesh Belgium "
    "Bolivia Brazil Bulgaria Cambodia "
    "Canada Chile China Colombia Croatia Cuba Cyprus Denmark Ecuador Egypt England Estonia "
    "Ethiopia Finland France Germany "
    "Ghana Greece Greenland Guatemala Haiti Hungary Iceland India Indonesia Iran Iraq "
    "Ireland Israel Italy Jamaica Japan "
    "Kenya Korea Kuwait Laos Latvia Lebanon Lithuania Luxembourg Malaysia Malta Mexico "
    "Mongolia Morocco Nepal Netherlands "
    "Nigeria Norway Pakistan Panama Peru Philippines Poland Portugal Qatar Romania Russia "
    "Scotland Senegal Serbia Singapore "
    "Slovakia Slovenia Somalia Spain Sweden Switzerland Syria Taiwan Tanzania Thailand Tunisia Turkey Uganda Ukraine "
    "Uruguay Venezuela Vietnam Wales Zambia Zimbabwe USA UK Britain Scandinavia Caribbean Bali Hawaii Alaska Alabama "
    "Arizona Arkansas California Colorado Connecticut Delaware Florida Hampshire Idaho Illinois Indiana Iowa Kansas "
    "Kentucky Louisiana Maine Maryland Massachusetts Michigan Minnesota Mississippi "
    "Missouri Montana Nebraska Nevada Ohio "
    "Oklahoma Oregon Pennsylvania Tennessee Texas Utah Vermont Washington Wisconsin "
    "Wyoming Amsterdam Athens Atlanta Auckland "
    "Austin Bangkok Barcelona Beijing Belgrade Bergen Berlin Birmingham Bogota Boston "
    "Bratislava Brisbane Bristol Brooklyn "
    "Brussels Bucharest Budapest Cairo Calgary Chicago Cleveland Cologne Copenhagen "
    "Dallas Delhi Denver Detroit Dubai Dublin "
    "Edinburgh Frankfurt Geneva Glasgow Gothenburg Hamburg Hanoi Helsinki Houston Istanbul "
    "Jakarta Jerusalem Johannesburg "
    "Kyoto Lagos Leeds Lima Lisbon Liverpool London Lyon Madrid Manchester Manhattan "
    "Manila Marseille Melbourne Miami Milan "
    "Milwaukee Montreal Moscow Mumbai Munich Nairobi Naples Nashville Osaka Oslo Ottawa "
    "Paris Philadelphia Phoenix Pittsburgh "
    "Portland Porto Prague Reykjavik Riga Rome Rotterdam Sacramento Salzburg Seattle "
    "Seoul Shanghai Sofia Stockholm Stuttgart "
    "Sydney Tallinn Tampa Tbilisi Tokyo Toronto Trondheim Tucson Turin Vancouver Venice "
    "Vienna Vilnius Warsaw Zagreb Zurich "
    "Yosemite Yellowstone Tahoe Malmö Tromsø Stavanger Uppsala Aarhus".split()
)
TWO_WORD_PLACES = frozenset(
    "New York|Los Angeles|San Francisco|San Diego|San Jose|Las Vegas|New Orleans|Hong Kong|New Zealand|South Africa|"
    "South Korea|North Korea|United States|United Kingdom|Costa Rica|Puerto Rico|Sri Lanka|Saudi Arabia|New Jersey|"
    "New Mexico|New Hampshire|North Carolina|South Carolina|North Dakota|South Dakota|West Virginia|Rhode Island|"
    "Buenos Aires|Rio de Janeiro|Sao Paulo|Mexico City|Cape Town|Tel Aviv|Kuala Lumpur|Salt Lake City|Kansas City|"
    "St. Louis|New Delhi|Czech Republic|Abu Dhabi|Grand Canyon|Lake Tahoe|Lake Michigan|"
    "Central Park|Lake District".split("|")
)
ORGANIZATIONS = frozenset(
    "Google Apple Microsoft Amazon Facebook Meta Netflix Tesla IBM Intel Nvidia Oracle "
    "Samsung Sony Toyota Honda Ford BMW "
    "Volkswagen Volvo Ikea IKEA Nike Adidas Spotify Twitter Uber Airbnb OpenAI Anthropic "
    "NASA NATO UNICEF UNESCO WHO FBI "
    "CIA NBA NFL FIFA UEFA Harvard Stanford MIT Yale Oxford Cambridge Princeton Walmart "
    "Target Costco Starbucks McDonald's "
    "Hilton Marriott Boeing Airbus Siemens Bosch Philips Ericsson Nokia Equinor Statoil Lufthansa Delta Deloitte "
    "McKinsey Accenture KPMG PwC Visa Mastercard PayPal LinkedIn Instagram YouTube TikTok "
    "Reddit Etsy eBay Coursera Udemy".split()
)
ORGANIZATION_ENDS = frozenset(
    "University College School Academy Inc Inc. Corp Corp. Corporation Company Ltd Ltd. "
    "LLC GmbH AG Bank Hospital Clinic "
    "Institute Foundation Group Club Association Agency Council Museum Church Library "
    "Studio Studios Store Team Airlines "
    "Hotel Restaurant Cafe Café Bakery Gym Center Centre Society Union Party Department "
    "Ministry Labs Technologies Systems "
    "Solutions Partners Consulting Hospitality Press Records Bookstore Shelter Gallery "
    "League Orchestra Band Charity".split()
)
PLACE_ENDS = frozenset(
    "City Park Lake Beach Street Island Islands Mountain Mountains River Valley Bay "
    "Canyon Forest Square Avenue Road Airport "
    "Falls County Village Town Coast Desert Bridge Garden Gardens Harbor Harbour Hill "
    "Hills Trail Springs Peak Boulevard Lane "
    "Plaza Castle Palace Cathedral Temple Station Zoo District Peninsula Ocean Sea Moher Reef Glacier Fjord".split()
)
PLACE_BEGINS = frozenset("Lake Mount Mt Mt. Fort Port Cape Isle".split())
EVENT_ENDS = frozenset(
    "Festival Conference Fest Marathon Wedding Tournament Concert Cup Parade Awards "
    "Workshop Race Meetup Summit Expo Games "
    "Championship Championships Convention Gala Fair Triathlon Con Olympics Retreat "
    "Symposium Hackathon Half-Marathon Tour Run Ride".split()
)
EVENTS = frozenset(
    "Christmas Thanksgiving Easter Halloween Hanukkah Ramadan Diwali Eid Passover Valentine's "
    "Comic-Con Oktoberfest".split()
)

NO_NAMES = frozenset(
    "I I'm I've I'd I'll I\u2019m I\u2019ve I\u2019d I\u2019ll "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday Mondays Tuesdays "
    "Wednesdays Thursdays Fridays Saturdays Sundays January February March April May "
    "June July August September October "
    "November December Mon Tue Tues Wed Thu Thurs Fri Sat Sun Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec English "
    "Spanish French German Italian Chinese Japanese Korean Indian Mexican American British "
    "Norwegian Swedish Danish Dutch "
    "Portuguese Russian Polish Greek Turkish Thai Vietnamese Arabic Hebrew Irish Scottish Canadian Australian European "
    "Asian African Brazilian Finnish Swiss Austrian Belgian Christian Muslim Jewish "
    "Catholic Buddhist Hindu TV AI DIY BBQ OK "
    "PM AM CEO CTO HR PR PC GPS DVD CD USB HDMI PDF FAQ ASAP FYI BTW LOL OMG IMO GPA "
    "MBA PhD BA BSc MSc MA LGBTQ LGBTQ+ "
    "User Assistant Tool Mr Mrs Ms Dr Yes No Yeah Thanks Hey Hi Hello Oh Wow God GB "
    "MB TB RAM CPU GPU SQL HTML CSS API URL "
    "ETA DM GMO BMI Mom Mum Dad Mommy Daddy Grandma Grandpa Auntie Sir Madam Congrats Haha Lol Btw Ok Okay".split()
)
START_WORDS = frozenset(
    "a about after all also although always am an and another any are as at be because "
    "been before being both but by can "
    "could did do does done during each either even every everyone everything few finally "
    "first for from get getting give "
    "given go going good got great had has have having he her here hers his how however "
    "if in into is it it's its just keep "
    "last later let let's like look looking make making many maybe me more most much "
    "my never new next nice no not nothing "
    "now of off on once one only or other our out over own perhaps please quite rather "
    "really same she should since so some "
    "someone something sometimes soon still such sure take taking thank that that's "
    "the their them then there there's these "
    "they this those though through to today together tomorrow too try trying two under "
    "unfortunately until up us use used "
    "very was we well were what what's when where whether which while who why will with "
    "would yes yesterday yet you your "
    "you're three four five six seven eight nine ten been being painting working being "
    "nothing anything love loved hope "
    "happy glad sorry honestly actually especially currently recently usually lately "
    "speaking considering based see remember "
    "life music art nature family friends work food time people money sleep health being "
    "reading writing running cooking "
    "dancing volunteering helping seeing watching hearing learning living playing cool "
    "awesome amazing absolutely definitely "
    "exactly totally congrats congratulations yay woohoo sounds looks feels seems can't "
    "don't won't didn't isn't i'll gonna "
    "wanna hopefully plus instead besides meanwhile otherwise therefore thus overall additionally moreover furthermore "
    "alternatively similarly finally lastly firstly secondly note start ask consider "
    "include avoid create add check find "
    "here's he's she's they're we're it'll step option tip talk tell thanks bye wow "
    "hey hi hello oh ah aw hmm haha".split()
)
